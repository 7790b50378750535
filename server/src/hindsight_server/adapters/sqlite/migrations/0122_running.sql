-- What is being done is looked at whenever a refresh is to be begun; it is a handful of rows beside a long queue.
CREATE INDEX operations_running ON operations (bank_id, type) WHERE status = 'processing';
