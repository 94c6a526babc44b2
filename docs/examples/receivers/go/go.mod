module example.com/receive

go 1.19
