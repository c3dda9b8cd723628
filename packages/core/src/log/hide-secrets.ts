// Takes secrets out of text that others wrote, before it becomes part of an error or a line of the log.
// H1. A known secret goes in each of its usual spellings; what looks like a key goes though nobody named it.

/** Shorter keys are no secrets but placeholders: local servers want some key and ignore it. */
const secretCharactersMin = 6

/** @param secrets keys, tokens and passwords of this process; those of fewer than six characters are placeholders, and stay */
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
