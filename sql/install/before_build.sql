-- What an index is built or dropped with, before the migration that needs it and outside of a transaction.
set statement_timeout = 0;
set lock_timeout = '{{lock_timeout}}';
