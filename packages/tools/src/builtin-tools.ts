// The tools that every workspace has.
import { readFile } from './files/read-file.ts'
import type { Tool } from '@beaver/agent/tool-kit'
import { askUser } from './ask-user.ts'
import { echo } from './echo.ts'
import { getCurrentTime } from './get-current-time.ts'
import { knowledgeTool } from './knowledge.ts'
import { fileStats } from './files/file-stats.ts'
import { listFiles } from './files/list-files.ts'
import { memory } from './memory.ts'
import { type BuiltinToolOptions, defaultBuiltinToolOptions } from './options.ts'
import { recountFiles } from './files/recount-files.ts'
import { runCommand } from './command/run-command.ts'
import { sessionSearch } from './session-search.ts'
import { skillView } from './skill-view.ts'
import { viewImage } from './files/view-image.ts'
import { webFetch } from './web/web-fetch.ts'
import { webSearch } from './web/web-search.ts'
import { writeFile } from './files/write-file.ts'

/** Tools that are switched off are left out. */
export function builtinTools(options: BuiltinToolOptions = defaultBuiltinToolOptions): readonly Tool[] {
  const { webSearch: search, webFetch: fetch, runCommand: command, sandbox, knowledgeBases } = options
  return [
    listFiles,
    readFile,
    viewImage,
    writeFile(options.protected),
    fileStats,
    recountFiles,
    webFetch(fetch),
    ...(search === null ? [] : [webSearch(search)]),
    ...(command.enabled ? [runCommand(command, sandbox)] : []),
    echo,
    getCurrentTime(),
    askUser,
    memory,
    sessionSearch,
    skillView,
    ...knowledgeBases.map(knowledgeTool),
  ]
}
