// Removes secrets from text that others wrote, before the text becomes part of an error or of a line of the log.
// H1. A known secret is removed in each of its usual spellings. Text that looks like a key is removed even if it is not a known secret.

/** Shorter keys are placeholders, not secrets: local servers require some key and ignore it. */
const secretCharactersMin = 6

/**
 * Returns a function that replaces secrets in a text with `[redacted]`.
 *
 * @param secrets keys, tokens and passwords of this process; those with fewer than six characters are placeholders and stay
 * @example
 * const hide = hideSecrets(['sk-0123456789'])
 * hide('401 for sk-0123456789') // => '401 for [redacted]'
 */
export function hideSecrets(secrets: readonly string[]): (text: string) => string {
  const spellings = secrets
    .filter(({ length }) => length >= secretCharactersMin)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), Buffer.from(secret).toString('base64')])
  const known = [...new Set(spellings)]
  return (text) => {
    let clean = text
    for (const spelling of known) clean = clean.replaceAll(spelling, '[redacted]')
    return clean
      .replace(/\b(?:sk|key|pk)-[\w*.…-]{6,}/g, '[redacted]') // servers quote keys in part, with stars in the middle
      .replace(/\bBearer\s+[^\s"\\]+/gi, 'Bearer [redacted]')
      .replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"\\]+@/gi, '$1[redacted]@') // the user of a URL
  }
}
