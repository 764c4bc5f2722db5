module fairlead/tests/peer/http

go 1.24
