from importlib import import_module

import_module("infra")  # before anything that imports redis: see there
