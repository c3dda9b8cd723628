// `pnpm docs:dialects`: writes docs/reference/dialects.md. A test holds the page to what this makes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib/layout.mjs'
import { dialectsReference } from './lib/dialects-reference.ts'

writeFileSync(join(root, 'docs', 'reference', 'dialects.md'), dialectsReference())
process.stdout.write('docs/reference/dialects.md is written.\n')
