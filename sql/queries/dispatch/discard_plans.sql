-- Plans are made once and kept. One that was made while a partition was empty may choose between its
-- indexes by chance, so a dispatcher makes its plans anew from time to time.
discard plans;
