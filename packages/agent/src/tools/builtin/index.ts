// The tools every workspace has.
import type { Tool } from '../tool.ts'
import { echo } from './echo.ts'
import { fileStats } from './file-stats.ts'
import { listFiles } from './list-files.ts'
import { readFile } from './read-file.ts'
import { recountFiles } from './recount-files.ts'

export function builtinTools(): readonly Tool[] {
  return [listFiles, readFile, fileStats, recountFiles, echo]
}
