// Chromium: where the browser of this machine is. The set-up does not bring one: only the tests of the console
// need it, and a distribution's own is kept up to date by the machine.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']

/** What to do if there is none. */
export const chromiumAdvice =
  'The tests of the console need Chromium and are left out. Install it ("apt-get install chromium"), or name it with BEAVER_CHROMIUM.'

/**
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {string | null} the absolute path of the program; `null`: there is none
 */
export function findChromium(env) {
  const named = env['BEAVER_CHROMIUM']
  const paths =
    named === undefined || named === ''
      ? (env['PATH'] ?? '').split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)))
      : [named]
  return paths.find(canRun) ?? null
}

/** @param {string} path */
function canRun(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
