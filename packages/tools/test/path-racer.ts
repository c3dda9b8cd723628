// A program that exchanges a folder and a file of a workspace for links that lead out of it, as fast as it
// can, until it is killed. Arguments: the workspace, the folder outside.
import { renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [workspace = '', outside = ''] = process.argv.slice(2)
const at = (name: string): string => join(workspace, name)
process.stdout.write('ready\n')
for (;;) {
  try {
    renameSync(at('dir'), at('aside'))
    symlinkSync(outside, at('dir'))
    unlinkSync(at('dir'))
    renameSync(at('aside'), at('dir'))
    symlinkSync(join(outside, 'secret'), at('next'))
    renameSync(at('next'), at('file'))
    writeFileSync(at('next'), 'inside')
    renameSync(at('next'), at('file'))
  } catch {
    // A tool made something here meanwhile. The next round goes on.
    try {
      unlinkSync(at('dir'))
    } catch {}
    try {
      renameSync(at('aside'), at('dir'))
    } catch {}
  }
}
