from shardy_py.dialects.verification.faults import Fault, Faults
STRUCTURE = {}
USES = {}
def check_attribute(op, name, attribute, scope):
    yield from ()
def check_value_attribute(name, attribute, type_, scope, where):
    yield from ()
