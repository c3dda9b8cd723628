// The faults that TypeScript finds in some files of a project, and in no others. A whole build would check
// every source that the files reach, which takes ten times as long, and `verify types` does so. The interface
// of TypeScript 7 for programs is not stable yet, so nothing else uses it, and package.json pins the version.
import { readFileSync } from 'node:fs'
import { API } from 'typescript/unstable/async'

export interface TypeFault {
  readonly file: string
  /** From 1. */
  readonly line: number
  /** `TS2345: …` */
  readonly message: string
}

/** @param config the path of the tsconfig.json of one project, which has all the files */
export async function typeFaults(config: string, files: readonly string[]): Promise<TypeFault[]> {
  const api = new API({})
  try {
    const project = (await api.updateSnapshot({ openProjects: [config] })).getProject(config)
    if (project === undefined) throw new Error(`TypeScript cannot open ${config}.`)
    const { program } = project
    const faultsOf = async (file: string): Promise<TypeFault[]> => {
      const text = readFileSync(file, 'utf8')
      const found = await Promise.all([
        program.getSyntacticDiagnostics(file),
        program.getSemanticDiagnostics(file),
      ])
      return found.flat().map(({ pos, code, text: message }) => ({
        file,
        line: text.slice(0, pos).split('\n').length,
        message: `TS${code}: ${message}`,
      }))
    }
    return (await Promise.all(files.map(faultsOf))).flat()
  } finally {
    await api.close()
  }
}
