// Pins: the versions and hashes of what the set-up fetches, in scripts/pins.json, and the checks against
// them. What differs from its pin is not used. The message says what was found, what is expected, and what to
// do. The packages are pinned by pnpm-lock.yaml, which pnpm checks. Node.js is one of them; its pins are here
// as well, so that one file names every program that the set-up fetches. A platform that the file does not
// name has no pin. Then the signature of the archive, or the hash of the registry, is the only check.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SetupError } from './failure.mjs'
import { readJson, root } from './layout.mjs'

export const pinsFile = join(root, 'scripts', 'pins.json')
const todo =
  'Do not use what was fetched. If this version of Beaver is old, bring it up to date; otherwise ask where the difference comes from'

/**
 * @typedef {object} Pins
 * @property {{ version: string, debian: { suite: string, package: string, platforms: Record<string, { deb:
 * string, program?: string }> } }} nats-server
 * @property {{ version: string, packages: Record<string, string> }} pnpm
 * @property {{ version: string, packages: Record<string, string> }} node
 */

/**
 * @returns {Pins}
 * @throws {SetupError}
 */
export function readPins() {
  const pins = readJson(pinsFile)
  if (pins === null)
    throw new SetupError('scripts/pins.json is missing or no JSON; restore it from the repository.')
  return pins
}

/**
 * The SHA-256 of a file, 64 hex digits.
 * @param {string} path
 * @returns {string}
 */
export function sha256Of(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

/**
 * Compares a file with its pin.
 * @param {string} path
 * @param {string | undefined} expected undefined: the file has no pin
 * @param {string} what for the message, such as `the nats-server from Debian forky`
 * @throws {SetupError}
 */
export function checkFile(path, expected, what) {
  if (expected !== undefined) checkHash(`sha256-${sha256Of(path)}`, `sha256-${expected}`, what)
}

/**
 * Compares what npm installed with the pins of pnpm. npm itself compared the content with these hashes, which
 * it had from the registry.
 * @param {string} dir the folder with `node_modules`
 * @param {Pins['pnpm']} pins
 * @throws {SetupError}
 */
export function checkPnpm(dir, pins) {
  const installed = readJson(join(dir, 'node_modules', '.package-lock.json'))?.packages ?? {}
  if (installed['node_modules/pnpm'] === undefined)
    throw new SetupError(
      'the installed pnpm says nothing about its origin; delete .beaver/tools and try again.',
    )
  for (const [path, { integrity }] of Object.entries(installed)) {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const expected = pins.packages[name]
    // A program for another platform than the pinned ones.
    if (expected === undefined && name.startsWith('@pnpm/exe.')) continue
    checkHash(
      integrity ?? 'no hash',
      expected ?? 'no such package',
      `${name} ${pins.version} from the registry`,
    )
  }
}

/**
 * Compares the lock file with the pins of Node.js.
 * @param {string} lockText the content of pnpm-lock.yaml
 * @param {Pins['node']} pins
 * @throws {SetupError}
 */
export function checkNodeLock(lockText, pins) {
  for (const [name, expected] of Object.entries(pins.packages)) {
    const found = new RegExp(
      `^  ${name}@${RegExp.escape?.(pins.version) ?? pins.version.replaceAll('.', '\\.')}:\\n +resolution: \\{integrity: ([^,}]+)`,
      'm',
    ).exec(lockText)?.[1]
    checkHash(found ?? 'no such version', expected, `${name} ${pins.version} in pnpm-lock.yaml`)
  }
}

function checkHash(found, expected, what) {
  if (found === expected) return
  throw new SetupError(
    `${what} does not have the expected hash: found ${found}, expected ${expected}. ${todo}.`,
  )
}
