// The console: builds the pages that the gateway serves (apps/console), and knows whether they are built from
// the sources that are here. The build writes what it read beside the pages. Half a build is not trusted: it
// is made beside the place and renamed into it.
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SetupError } from './failure.mjs'
import { readJson } from './layout.mjs'

const BUILD_MS_MAX = 3 * 60_000

/** @param {string} root */
const folderOf = (root) => join(root, 'apps', 'console')
/** @param {string} root */
const pagesOf = (root) => join(folderOf(root), 'dist', 'web')

/**
 * Whether the pages are there and no source has changed since they were built.
 * @param {string} root
 * @returns {boolean}
 */
export function consoleIsBuilt(root) {
  const inputs = readJson(join(pagesOf(root), '.inputs.json'))
  if (!Array.isArray(inputs)) return false
  return inputs.every(([path, size, mtimeMs]) => {
    try {
      const now = statSync(join(root, path))
      return now.size === size && now.mtimeMs === mtimeMs
    } catch {
      return false
    }
  })
}

/**
 * @param {string} root
 * @param {(command: string, args: readonly string[], options: { cwd: string, env: NodeJS.ProcessEnv,
 * timeoutMs: number }) => Promise<import('./run.mjs').Result>} runTool
 * @param {string} node the Node.js that runs Beaver
 * @throws {SetupError}
 */
export async function buildConsole(root, runTool, node) {
  const folder = folderOf(root)
  const partial = join(folder, 'dist', 'web.partial')
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(join(folder, 'dist'), { recursive: true })
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js')
  const result = await runTool(node, [vite, 'build', '--outDir', partial, '--logLevel', 'error'], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: 'production', NO_COLOR: '1' },
    timeoutMs: BUILD_MS_MAX,
  })
  if (result.code !== 0 || !existsSync(join(partial, '.inputs.json')))
    throw new SetupError(
      'the console could not be built; mend apps/console, or bring the sources back as they were.',
      result.output,
    )
  rmSync(pagesOf(root), { recursive: true, force: true })
  renameSync(partial, pagesOf(root))
}
