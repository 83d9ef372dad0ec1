// Which types of values a format takes as its one value.
{ string: true, number: true, boolean: true, 'null': true, array: false, object: false, 'function': false }
