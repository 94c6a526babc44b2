-- Ends a transaction.
commit;
