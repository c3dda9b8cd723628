// The secrets of this thread's process, and the one place that removes them from what Beaver records, sends
// and says. A process names its secrets before its first task (`protectSecrets`), and later ones, such as
// tokens, when it gets them. Worker threads get all of them from their main thread (`onSecretsChange`).
// `draft` masks the data of every event before it is hashed; code that keeps the event keeps the masked one
// (`drafted`), so that a run in memory equals its fold.
import { type KnownSecret, SecretMasker } from './secret-masker.ts'

let secrets: readonly KnownSecret[] = []
let masker: SecretMasker | null = null
const listeners = new Set<() => void>()

const current = (): SecretMasker => (masker ??= new SecretMasker(secrets))

/**
 * Adds secrets to those that this thread hides. Values that could be ordinary text are not hidden
 * (`isHideable`).
 *
 * @returns takes exactly these secrets back
 * @example
 * const release = protectSecrets([{ name: 'DEMO_KEY', value: 'k3y-of-the-demo' }])
 * maskSecrets('The key is k3y-of-the-demo.') // => 'The key is [secret:DEMO_KEY].'
 * release()
 */
export function protectSecrets(added: readonly KnownSecret[]): () => void {
  const own = added.map((each) => ({ ...each }))
  become([...secrets, ...own])
  return () => become(secrets.filter((each) => !own.includes(each)))
}

function become(next: readonly KnownSecret[]): void {
  secrets = next
  masker = null
  for (const listener of [...listeners]) listener()
}

/**
 * Calls `listener` at once after each change of the secrets of this thread.
 *
 * @returns ends this
 * @example
 * let changes = 0
 * const end = onSecretsChange(() => changes++)
 * protectSecrets([{ name: 'DEMO_KEY', value: 'k3y-of-the-demo' }])()
 * changes // => 2
 * end()
 */
export function onSecretsChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/**
 * The secrets that this thread hides, for a thread that it starts.
 *
 * @example
 * protectedSecrets() // => []
 */
export const protectedSecrets = (): readonly KnownSecret[] => secrets

/**
 * The text with a mark in place of each secret.
 *
 * @param start what comes before this place is only looked at. Default: 0
 * @example
 * maskSecrets('id AKIAIOSFODNN7EXAMPLE') // => 'id [secret:aws_access_key]'
 * maskSecrets('commit 9fceb02d0ae598e95dc970b74767f19372d61af8') // => 'commit 9fceb02d0ae598e95dc970b74767f19372d61af8'
 */
export const maskSecrets = (text: string, start = 0): string => current().mask(text, start)

/**
 * Whether a text contains a secret.
 *
 * @example
 * hasSecret('AKIAIOSFODNN7EXAMPLE') // => true
 */
export const hasSecret = (text: string): boolean => current().find(text).length > 0

/**
 * How much of a text that is still growing can be shown: nothing that is added later makes a secret of it.
 */
export const decidedLength = (text: string): number => current().decided(text)

/**
 * Plain data with a mark in place of each secret in its texts and its keys. A value without a secret is
 * returned as it is.
 *
 * @example
 * maskedData({ command: 'env', output: ['ID=AKIAIOSFODNN7EXAMPLE'] }) // => { command: 'env', output: ['ID=[secret:aws_access_key]'] }
 */
export const maskedData = <Value>(value: Value): Value => walk(value, current(), 0) as Value

/** Deeper data is refused when it is written. */
const depthMax = 1_001

function walk(value: unknown, by: SecretMasker, depth: number): unknown {
  if (typeof value === 'string') return value.length < 6 ? value : by.mask(value)
  if (typeof value !== 'object' || value === null || depth > depthMax) return value
  if (Array.isArray(value)) return walkList(value, by, depth)
  return walkObject(value as Record<string, unknown>, by, depth)
}

function walkList(list: readonly unknown[], by: SecretMasker, depth: number): unknown {
  let clean: unknown[] | null = null
  for (let i = 0; i < list.length; i++) {
    const item = walk(list[i], by, depth + 1)
    if (item !== list[i]) (clean ??= [...list])[i] = item
  }
  return clean ?? list
}

function walkObject(object: Record<string, unknown>, by: SecretMasker, depth: number): unknown {
  let clean: Record<string, unknown> | null = null
  for (const key of Object.keys(object)) {
    const item = walk(object[key], by, depth + 1)
    const name = key.length < 6 ? key : by.mask(key)
    if (item === object[key] && name === key) continue
    clean ??= { ...object }
    if (name !== key) delete clean[key]
    clean[name] = item
  }
  return clean ?? object
}
