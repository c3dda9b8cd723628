// Removes secrets from text that others wrote before it becomes part of an error or of the log. Unlike
// `maskSecrets`, it also removes what only looks like a part of a key: an error message needs no such text.
import { type KnownSecret, SecretMasker } from './secret-masker.ts'

/**
 * A known secret of this length or longer is removed from errors and logs, even if it could be ordinary text.
 */
const charactersMin = 6

/**
 * Returns a function that replaces secrets in a text.
 *
 * @param secrets keys, tokens and passwords; those with fewer than six characters are placeholders and stay
 * @example
 * const hide = hideSecrets([{ name: 'OPENAI_API_KEY', value: 'sk-0123456789' }])
 * hide('401 for sk-0123456789') // => '401 for [secret:OPENAI_API_KEY]'
 */
export function hideSecrets(secrets: readonly KnownSecret[]): (text: string) => string {
  const masker = new SecretMasker(secrets)
  const known = secrets.filter(({ value }) => value.length >= charactersMin)
  return (text) => {
    let clean = masker.mask(text)
    for (const { name, value } of known) clean = clean.replaceAll(value, `[secret:${name}]`)
    clean = clean
      .replace(/\b(?:sk|key|pk)-[\w*.…-]{6,}/g, '[secret:key]') // servers quote keys in part, with stars in the middle
      .replace(/\bBearer\s+(?!\[secret:)[^\s"\\]+/gi, 'Bearer [secret:bearer_token]')
    // This expression tries each character of each word, and most lines of the log have no URL.
    if (!clean.includes('://')) return clean
    return clean.replace(
      /(\b[a-z][a-z0-9+.-]*:\/\/)(?!\[secret:)[^\s/@"\\]+@/gi,
      '$1[secret:url_credentials]@',
    ) // the user of a URL
  }
}
