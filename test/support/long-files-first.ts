// The order of the test files. The last file that runs has the machine for itself, so the files that take longest begin first, and small ones fill
// the end. Vitest orders by the times of an earlier run, and by the size of a file if there is none; size says little about these files.
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that are small and take long. */
const long = [
  'test/simulation.test.ts',
  'test/daemon-threads.test.ts',
  'test/daemon-labels.test.ts',
  'test/daemon-garbage.test.ts',
  'test/faults.test.ts',
  'test/provider-outage.test.ts',
  'test/daemon-dead-letter.test.ts',
  'test/injection.test.ts',
  'test/client-daemon-away.test.ts',
]

export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const known = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification): number =>
      long.includes(relative(project.vitest.config.root, moduleId)) ? 0 : project.name === 'system' ? 1 : 2
    return known.toSorted((a, b) => rank(a) - rank(b))
  }
}
