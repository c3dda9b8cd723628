// The operator's rules about what may leave a run, with their defaults. Plain data: they are sent to every
// worker thread. A path is compared as the least strict file system compares it (folded-text.ts). A pattern
// without "/" is compared with the last part of the path.
import { defaultEgressPolicy, type EgressPolicy } from '@beaver/core/taint'
import { foldedText } from '../files/folded-text.ts'
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
}

/** The rules of an empty configuration. */
export const defaultEgressRules: EgressRules = {
  policy: defaultEgressPolicy,
  hostsAllowed: [],
  secretPaths: [],
  untrustedPaths: [],
}

const secretPathsDefault = [
  ...[
    '.env',
    '.env.*',
    '*.env',
    '*.pem',
    '*.key',
    '*.p12',
    '*.pfx',
    '*.kdbx',
    '*.keystore',
    '*.nk',
    '*.creds',
    'id_rsa*',
    'id_ed25519*',
    'id_ecdsa*',
  ],
  ...[
    '.netrc',
    '.npmrc',
    '.pypirc',
    '.git-credentials',
    '.htpasswd',
    'credentials',
    'credentials.*',
    'secrets.*',
    'service-account*.json',
  ],
]
/** These are made to be shared. */
const notSecret = ['.env.example', '.env.sample', '.env.template']
const untrustedPathsDefault = [
  'node_modules/*',
  '*/node_modules/*',
  'downloads/*',
  '*/downloads/*',
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

export function isSecretPath(path: string, { secretPaths }: EgressRules): boolean {
  if (oneOf(path, secretPaths)) return true
  return oneOf(path, secretPathsDefault) && !oneOf(path, notSecret)
}

export const isUntrustedPath = (path: string, { untrustedPaths }: EgressRules): boolean =>
  oneOf(path, untrustedPaths) || oneOf(path, untrustedPathsDefault)

function oneOf(path: string, patterns: readonly string[]): boolean {
  const whole = foldedText(path)
    .replaceAll('\\', '/')
    .replace(/^(\.\/)+/, '')
  const last = whole.slice(whole.lastIndexOf('/') + 1)
  return patterns.some((pattern) => matchesPattern(foldedText(pattern), pattern.includes('/') ? whole : last))
}
