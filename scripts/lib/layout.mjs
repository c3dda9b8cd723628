// Layout: where the set-up keeps things. All of it is inside the project.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const toolsDir = join(root, '.beaver', 'tools')
export const cacheDir = join(root, '.beaver', 'cache')
/** Half-made things. Only who holds the set-up's lock may write here, and empties it first. */
export const partialDir = join(toolsDir, 'partial')
export const lockDir = join(toolsDir, 'setup.lock')
export const stampFile = join(toolsDir, 'stamp.json')
export const pathsFile = join(toolsDir, 'paths.json')
export const natsServerFile = join(toolsDir, 'nats-server', 'nats-server')
export const nodeLink = join(toolsDir, 'node')
export const pnpmDir = join(toolsDir, 'pnpm')

/**
 * @param {string} path
 * @returns {any} the parsed file, or null when it is missing or no JSON
 */
export function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}
