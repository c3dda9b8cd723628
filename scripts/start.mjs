// `npm start`: sets up, then lets Beaver report on a folder. All validation of
// the flags is `beaver run`'s. A first run does not wait for a
// model that cannot be asked: it ends, and says why.
import { realpathSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endLike, runInForeground } from './lib/foreground.mjs'
import { root } from './lib/layout.mjs'
import { setupOrExit } from './setup.mjs'

const USAGE = `Usage: npm start -- [folder] [flags of "beaver run"]

Sets Beaver up if needed, then reports on the folder (default: this repository):
what it is, counts of files, lines, words and bytes, the largest files.

  npm start
  npm start -- ../some/folder
  npm start -- ../some/folder --json
`

/**
 * The words after `beaver` that report on a folder.
 * @param {string} folder
 * @param {readonly string[]} flags
 */
export function reportCommand(folder, flags = []) {
  const task = `Report on the folder ${basename(folder) || folder}: what it is, counts of files, lines, words and bytes per type, the largest files.`
  return ['run', '--up', '--check-model', '--skill', 'folder-report', '--workspace', folder, ...flags, task]
}

async function start() {
  const args = process.argv.slice(2)
  const flagsAt = args.findIndex((arg) => arg.startsWith('-'))
  const folders = flagsAt === -1 ? args : args.slice(0, flagsAt)
  const flags = flagsAt === -1 ? [] : args.slice(flagsAt)
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(USAGE)
  } else if (folders.length > 1) {
    process.stderr.write(`expected one folder, got ${folders.length}: ${folders.join(' ')}\n\n${USAGE}`)
    process.exitCode = 2
  } else {
    const folder =
      folders[0] === undefined ? root : resolve(process.env.INIT_CWD ?? process.cwd(), folders[0])
    // `beaver run` would name its own option, which the person has not typed.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
      process.stderr.write(`there is no folder ${folder}\n\n${USAGE}`)
      process.exitCode = 2
      return
    }
    await setupOrExit()
    endLike(await runInForeground(join(root, 'bin', 'beaver'), reportCommand(folder, flags)))
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await start()
