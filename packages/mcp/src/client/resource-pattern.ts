// Compares the URI of a resource with the patterns of the configuration. `*` means any text. A path that
// leads upwards matches no pattern, because the server may read it as another resource.

/** @example matchesAny(['docs://*'], 'docs://a/b') // true */
export function matchesAny(patterns: readonly string[], uri: string): boolean {
  if (/(^|[/\\]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i.test(uri)) return false
  return patterns.some((pattern) => matches(pattern.split('*'), uri))
}

/** In linear time: a pattern is the operator's, and a URI is a model's. */
function matches([first = '', ...rest]: readonly string[], uri: string): boolean {
  if (!uri.startsWith(first)) return false
  const last = rest.pop()
  if (last === undefined) return uri === first
  let at = first.length
  for (const part of rest) {
    const found = uri.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return uri.length - last.length >= at && uri.endsWith(last)
}
