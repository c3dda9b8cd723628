// Decides, in every process that reads a configuration, whether the file's requests count. A file that the
// user or a program named is their own, like the environment. A file that was only found in the current
// folder may be a stranger's: it counts as a whole only if the user accepted it. Files beside Beaver's own
// code are trusted, because their writers can change Beaver too. An explicit answer (`--trust`, `--no-trust`,
// BEAVER_TRUST) wins. `beaver up` gives its children the digest that it accepted; a child that finds another
// digest reads the store.
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { BeaverError } from '@beaver/core'
import { type AskedRight, splitContent } from './asked-rights.ts'
import { trustDigest } from './trust-digest.ts'
import { realFolder, trustedFolder, trustStoreFolder } from './trust-store.ts'

/** Who decided that a folder is trusted. */
export type TrustedBy = 'nothing_asked' | 'named' | 'own_code' | 'told' | 'accepted'

export interface FolderTrust {
  /** The folder of the configuration file; `null` if there is no file. */
  readonly folder: string | null
  /** `refused`: the user said so. `open`: nobody was asked yet. */
  readonly state: 'trusted' | 'refused' | 'open'
  readonly by: TrustedBy | null
  /** Whether an earlier state of the folder was accepted. */
  readonly changed: boolean
  readonly asked: readonly AskedRight[]
  /** The digest of what the folder asks for. `null` if it asks for nothing, or is beyond the bounds. */
  readonly digest: string | null
  /**
   * The SHA-256 of each file that the settings run, by absolute path. Empty if the decision does not depend
   * on their content.
   */
  readonly files: ReadonlyMap<string, string>
}

export interface TrustInput {
  readonly file: string | null
  readonly content: Readonly<Record<string, unknown>>
  /** Whether the user or a program named the file. */
  readonly named: boolean
  /** Whether the user gave this key elsewhere. */
  readonly overridden: (key: string) => boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** `--trust` or `--no-trust`. */
  readonly told: boolean | undefined
  /** The program that embeds Beaver. */
  readonly program: string | undefined
}

/** @throws {BeaverError} `invalid_configuration` if BEAVER_TRUST has another form */
export function judgeFolder(input: TrustInput): {
  readonly trust: FolderTrust
  readonly content: Readonly<Record<string, unknown>>
} {
  const { file, content, env } = input
  const decision = decisionIn(input)
  const { safe, asked, settings } = splitContent(content, input.overridden)
  const folder = file === null ? null : dirname(file)
  const base = { folder, asked, changed: false, digest: null, files: new Map<string, string>() }
  if (decision === true) return { trust: { ...base, state: 'trusted', by: 'told' }, content }
  if (decision === undefined && input.named)
    return { trust: { ...base, state: 'trusted', by: 'named' }, content }
  if (folder !== null && decision === undefined && isBesideCode(folder, input.program))
    return { trust: { ...base, state: 'trusted', by: 'own_code' }, content }
  if (folder === null || asked.length === 0)
    return { trust: { ...base, state: 'trusted', by: 'nothing_asked' }, content }
  const { digest, files } = trustDigest(folder, settings)
  const record = trustedFolder(trustStoreFolder(env), folder)
  const accepted = record !== null && (record.always || (digest !== null && record.digests.includes(digest)))
  const known = { ...base, digest, files, changed: record !== null && !accepted }
  if (decision !== false && digest !== null && decision === digest)
    return { trust: { ...known, state: 'trusted', by: 'told' }, content }
  // Trusted always: whatever the files contain.
  if (decision !== false && accepted)
    return {
      trust: { ...known, ...(record.always ? { files: base.files } : {}), state: 'trusted', by: 'accepted' },
      content,
    }
  return { trust: { ...known, state: decision === false ? 'refused' : 'open', by: null }, content: safe }
}

/** An answer that needs no question: yes, no, or yes to one digest. */
function decisionIn({ told, env }: TrustInput): boolean | string | undefined {
  if (told !== undefined) return told
  const variable = env['BEAVER_TRUST'] ?? ''
  if (variable === '') return undefined
  if (variable === '1') return true
  if (variable === '0') return false
  if (/^sha256:[0-9a-f]{64}$/.test(variable)) return variable
  throw new BeaverError(
    'invalid_configuration',
    'BEAVER_TRUST must be 1 (trust the folder), 0 (do not trust it) or the digest that "beaver trust --show" prints.',
  )
}

/**
 * Whether a folder is Beaver's own checkout, one of its examples, or the folder or the package of the program
 * that embeds Beaver.
 */
export function isBesideCode(folder: string, program: string | undefined): boolean {
  const real = realFolder(folder)
  const checkout = beaverCheckout()
  if (checkout !== null && (real === checkout || dirname(real) === join(checkout, 'examples'))) return true
  if (program === undefined) return false
  const own = dirname(realFolder(program))
  return real === own || real === packageFolder(own)
}

/**
 * The checkout that this code is part of. `null` if Beaver is installed as a package: then the folder around
 * it is somebody else's project.
 */
function beaverCheckout(): string | null {
  const packages = realFolder(resolve(import.meta.dirname, '../../..'))
  const root = dirname(packages)
  return basename(packages) === 'packages' &&
    !root.split('/').includes('node_modules') &&
    existsSync(join(root, 'pnpm-workspace.yaml'))
    ? root
    : null
}

function packageFolder(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at
    if (dirname(at) === at) return null
  }
}

const advice = [
  'To trust it: beaver trust',
  'To work without these settings: --no-trust',
  'For machines: BEAVER_TRUST=1, or the digest that "beaver trust --show" prints',
]

/**
 * Refuses to work in a folder whose settings wait for a decision.
 *
 * @param todo what to do, in lines
 * @throws {BeaverError} `untrusted_folder`
 */
export function requireTrust(trust: FolderTrust, todo: readonly string[] = advice): void {
  if (trust.state !== 'open') return
  const problems = trust.asked.map(({ key, says: message }) => ({ path: key, message }))
  throw new BeaverError('untrusted_folder', [...trustLines(trust), ...todo].join('\n'), { problems })
}

/** The keys of the folder that Beaver leaves out and that say which system a process works for. */
export function systemKeysLeftOut({ state, asked }: FolderTrust): readonly string[] {
  const keys = asked
    .filter(({ key }) => ['nats_url', 'namespace', 'tenant'].includes(key))
    .map(({ key }) => key)
  return state === 'open' ? keys : []
}

/**
 * The value of BEAVER_TRUST with which a child that gets this file by its name decides the same, also if the
 * file changes meanwhile.
 */
export function trustForChild({ state, by, digest }: FolderTrust): string {
  if (by === 'named' || by === 'own_code') return ''
  return state === 'trusted' && by !== 'nothing_asked' ? (digest ?? '1') : '0'
}

/** What the folder asks for, for a person: a sentence, and a line for each thing. */
export function trustLines(
  {
    folder,
    asked,
    changed,
    trusted = false,
  }: Pick<FolderTrust, 'folder' | 'asked' | 'changed'> & { readonly trusted?: boolean },
  linesMax = 20,
): readonly string[] {
  const shown = asked.slice(0, linesMax).map(({ says }) => `  - ${says}`)
  const more = asked.length - shown.length
  const head = trusted
    ? `With the beaver.config.json of ${folder}, Beaver`
    : changed
      ? `The folder ${folder} has changed since you trusted it. With its beaver.config.json, Beaver now`
      : `Nobody trusted the folder ${folder} yet. With its beaver.config.json, Beaver`
  return [head, ...shown, ...(more <= 0 ? [] : [`  - and ${more} more, which "beaver trust --show" lists`])]
}
