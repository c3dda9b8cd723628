// Packages of others that only some users need. The package of Beaver does not bring them: a user adds them.
// A checkout has all of them.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { type Installation, installation } from './installation.ts'

/** The packages by what they are for. */
export const optionalPackages = {
  'ai-sdk': ['@ai-sdk/provider'],
  chat: ['chat', '@chat-adapter/slack', '@chat-adapter/telegram'],
  email: ['imapflow', 'nodemailer', 'postal-mime'],
} as const

/**
 * Checks that packages are installed which a user adds.
 *
 * @param what needs them, as the beginning of a sentence
 * @throws {BeaverError} `package_missing`, with the command that adds them
 */
export function requirePackages(
  what: string,
  names: readonly string[],
  own: Installation = installation(),
): void {
  if (own.kind === 'checkout') return
  const folders = upwards(own.folder)
  const missing = names.filter(
    (name) => !folders.some((folder) => existsSync(join(folder, 'node_modules', name, 'package.json'))),
  )
  if (missing.length === 0) return
  const [it, is, noun] = missing.length === 1 ? ['it', 'is', 'the package'] : ['them', 'are', 'the packages']
  const wanted = missing.map((name) => {
    const range = own.peers[name]
    return range === undefined ? name : `${name}@${range}`
  })
  throw new BeaverError(
    'package_missing',
    `${what} needs ${noun} ${missing.join(', ')}, which ${is} not installed. Add ${it} beside Beaver: npm install ${wanted.join(' ')}`,
  )
}

/** The folder and those above it: where an import looks. */
const upwards = (folder: string): readonly string[] =>
  folder === dirname(folder) ? [folder] : [folder, ...upwards(dirname(folder))]
