// `pnpm docs:screens`: writes the screens on the pages that scripts/lib/screens.ts lists. A page on which nothing
// has drifted stays as it is, with its times and ids. A test holds the pages to this.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib/layout.mjs'
import { takeScreens } from './lib/screens.ts'

for (const { path, text, drifted } of await takeScreens()) {
  if (drifted.length > 0) writeFileSync(join(root, path), text)
  process.stdout.write(`${path} ${drifted.length > 0 ? 'is written' : 'has no drifted screen'}.\n`)
}
