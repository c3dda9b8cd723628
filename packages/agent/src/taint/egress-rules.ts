// The operator's rules about what may leave a run, with their defaults. Plain data: they are sent to every
// worker thread. A path is compared as the least strict file system compares it (folded-text.ts). A pattern
// without "/" is compared with the last part of the path.
import { defaultEgressPolicy, type EgressPolicy } from '@beaver/core/taint'
import { foldedText } from '../files/folded-text.ts'
import { isSecretPath as isSecretFile } from '../files/secret-paths.ts'
import { matchesPattern } from '../tools/rule-pattern.ts'

/** What may leave a run that has a label. */
export interface EgressRules {
  readonly policy: EgressPolicy
  /** Hosts that any run may contact: `host`, `host:port` or `*.domain`. */
  readonly hostsAllowed: readonly string[]
  /** Files with these paths are secret, besides `secretPathsDefault`. */
  readonly secretPaths: readonly string[]
  /** Files with these paths are strangers' text, besides `untrustedPathsDefault`. */
  readonly untrustedPaths: readonly string[]
  /** Files with these paths are the user's own, unless `untrustedPaths` names them. */
  readonly ownPaths: readonly string[]
}

/** The rules of an empty configuration. */
export const defaultEgressRules: EgressRules = {
  policy: defaultEgressPolicy,
  hostsAllowed: [],
  secretPaths: [],
  untrustedPaths: [],
  ownPaths: [],
}

/** Besides the names of `files/secret-paths.ts`, which file tools do not even read. */
const secretPathsDefault = ['id_rsa*', 'id_ed25519*', 'id_ecdsa*', 'credentials.*', 'secrets.*']
/** These are made to be shared. */
const notSecret = ['.env.example', '.env.sample', '.env.template']
/** Folders of what others wrote: dependencies, copies of other projects, and what was downloaded. */
const strangersFolders = [
  'node_modules',
  'bower_components',
  'site-packages',
  'vendor',
  'third_party',
  'downloads',
]
const untrustedPathsDefault = [
  ...strangersFolders.flatMap((folder) => [`${folder}/*`, `*/${folder}/*`]),
  '*.eml',
  '*.mbox',
  '*.msg',
]

/** Text that is a key, whichever file or tool it comes from. */
const secretText =
  /-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[opsur]_[A-Za-z0-9]{36}|\bgithub_pat_\w{40}|\bxox[abprs]-[A-Za-z0-9-]{10}|\bsk-[A-Za-z0-9_-]{20}|\bAIza[\w-]{35}|\bglpat-[\w-]{20}/

export const holdsSecretText = (text: string): boolean => secretText.test(text)

/** The paths that stand in what a call acts on: all of it, and its words. */
export function pathsIn(subject: string): string[] {
  const words = subject.split(/[\s"'`=,;:()[\]{}<>|&]+/).filter((word) => word !== '')
  return [...new Set([subject, ...words])].slice(0, 500)
}

/** Whether the text of a file with this path is secret. A folder ends in `/`. */
export function isSecretPath(path: string, { secretPaths }: EgressRules): boolean {
  if (oneOf(path, secretPaths) || isSecretFile(path)) return true
  return oneOf(path, secretPathsDefault) && !oneOf(path, notSecret)
}

/**
 * Whether the name itself is secret. A name by which Beaver knows a secret file, such as `.env`, tells
 * nothing. What the operator named, and what is in a folder of secrets, does.
 */
export const isSecretName = (path: string, { secretPaths }: EgressRules): boolean =>
  oneOf(path, secretPaths) || isSecretFile(path.replace(/[^/]*$/, ''))

/** Whether the text and the name of a file with this path are a stranger's. A folder ends in `/`. */
export const isUntrustedPath = (path: string, rules: EgressRules): boolean =>
  oneOf(path, rules.untrustedPaths) || (!oneOf(path, rules.ownPaths) && oneOf(path, untrustedPathsDefault))

/** Whether the operator says that the file is the user's own. */
export const isOwnPath = (path: string, { ownPaths }: EgressRules): boolean => oneOf(path, ownPaths)

function oneOf(path: string, patterns: readonly string[]): boolean {
  if (patterns.length === 0) return false
  const whole = foldedText(path)
    .replaceAll('\\', '/')
    .replace(/^(\.\/)+/, '')
  const last = whole.slice(whole.lastIndexOf('/') + 1)
  return patterns.some((pattern) => matchesPattern(foldedText(pattern), pattern.includes('/') ? whole : last))
}
