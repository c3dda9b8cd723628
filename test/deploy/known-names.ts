// The names that the files under deploy may use: commands and environment variables, as the reference lists
// them. A test of the documentation holds the reference to what is.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))
export const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

export const isCommand = (word: string): boolean =>
  new RegExp(`^\\|.*\`beaver ${RegExp.escape(word)}[ \`]`, 'm').test(read('docs/reference/command-line.md'))

const pages = ['docs/reference/configuration.md', 'docs/how-to/operate/several-machines.md']
/** Of Node.js and of the images, not of Beaver. */
const ofOthers = ['NODE_ENV', 'NODE_COMPILE_CACHE', 'PATH', 'NATS_SERVER_NAME']

/** Whether a process reads the variable. The files of keys are `<variable>_FILE`. */
export const isVariable = (name: string): boolean =>
  ofOthers.includes(name) || pages.some((page) => read(page).includes(`\`${name.replace(/_FILE$/, '')}\``))
