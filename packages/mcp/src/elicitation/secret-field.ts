// Decides whether a field of a form asks for a secret. The protocol forbids servers to do that, and the
// journal keeps every answer. A field is judged by its name, its title and its format, word by word:
// `max_tokens` is no secret, `access_token` is one.

const words = new Set([
  'password',
  'passwd',
  'passphrase',
  'passcode',
  'pwd',
  'secret',
  'apikey',
  'cvv',
  'cvc',
  'otp',
  'ssn',
  'passwort',
  'credential',
  'credentials',
])
const pairs = new Set([
  'api key',
  'private key',
  'access key',
  'secret key',
  'encryption key',
  'recovery code',
  'seed phrase',
  'card number',
  'pin code',
  'security code',
])

/** @param title what the form shows for the field, or nothing */
export function asksForSecret(
  name: string,
  { title, format }: { readonly title?: unknown; readonly format?: unknown },
): boolean {
  return format === 'password' || [name, typeof title === 'string' ? title : ''].some(namesSecret)
}

function namesSecret(text: string): boolean {
  const parts = text
    .slice(0, 300)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')
  if (parts.some((part, i) => words.has(part) || pairs.has(`${part} ${parts[i + 1] ?? ''}`))) return true
  const last = parts.at(-1)
  return last === 'token' || last === 'pin'
}
