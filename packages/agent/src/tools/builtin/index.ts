// The tools every workspace has.
import type { Tool } from '../tool.ts'
import { echo } from './echo.ts'
import { fileStats } from './file-stats.ts'
import { listFiles } from './list-files.ts'
import { memory } from './memory.ts'
import { type BuiltinToolOptions, defaultBuiltinToolOptions } from './options.ts'
import { readFile } from './read-file.ts'
import { recountFiles } from './recount-files.ts'
import { runCommand } from './run-command.ts'
import { sessionSearch } from './session-search.ts'
import { skillView } from './skill-view.ts'
import { webFetch } from './web-fetch.ts'
import { webSearch } from './web-search.ts'
import { writeFile } from './write-file.ts'

/** Those that are switched off are not among them. */
export function builtinTools({ webSearch: search, webFetch: fetch, runCommand: command }: BuiltinToolOptions = defaultBuiltinToolOptions): readonly Tool[] {
  return [
    listFiles,
    readFile,
    writeFile,
    fileStats,
    recountFiles,
    webFetch(fetch),
    ...(search === null ? [] : [webSearch(search)]),
    ...(command.enabled ? [runCommand(command)] : []),
    echo,
    memory,
    sessionSearch,
    skillView,
  ]
}
