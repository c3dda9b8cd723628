// A worker module that cannot be loaded.
throw new Error('a module is missing')
