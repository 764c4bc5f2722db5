module fairlead/tests/conformance

go 1.24
