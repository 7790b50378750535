"""Pictures and files inside documents, and documents that come as files."""
