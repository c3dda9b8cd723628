// The files of a home that a backup holds. A home may be a folder that the user had before, with other things
// in it, so only known names are taken. The marks and the kept checkpoints come first: they must not be newer
// than the journal, which is copied after them. Left out is what Beaver makes again (the read model, the
// indexes of knowledge bases), what is about this machine now (run, logs), and the streams, which are copied
// by the server.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const isCheckpoints = (name: string): boolean => /^checkpoints-.*\.ndjson$/.test(name)
const folders = ['keys', 'nats/keys', 'gateway', 'mcp-logins']
const single = ['mcp-pins.json', 'prices.json']

/** Whether a backup holds a file of this path in the home. */
export const isHomeFile = (path: string): boolean =>
  single.includes(path) ||
  (!path.includes('/') && isCheckpoints(path)) ||
  ['marks', ...folders].some((folder) => path.startsWith(`${folder}/`))

/** Paths in the home, in the order in which they are to be copied. */
export function homeFiles(home: string): string[] {
  const top = readdirSync(home, { withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [entry.name] : [],
  )
  return [
    ...below(home, 'marks'),
    ...top.filter(isCheckpoints).toSorted(),
    ...folders.flatMap((folder) => below(home, folder)),
    ...single.filter((name) => top.includes(name)),
  ]
}

/**
 * The files below a folder. A file that is still being written has another name at its end. Links are left
 * out.
 */
function below(home: string, folder: string): string[] {
  try {
    return readdirSync(join(home, folder), { withFileTypes: true })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const path = `${folder}/${entry.name}`
        return entry.isDirectory()
          ? below(home, path)
          : entry.isFile() && !entry.name.endsWith('.new')
            ? [path]
            : []
      })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
