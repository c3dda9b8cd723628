// The packages a bench compares with: installed on first use, outside the main install, under .beaver/bench.
// The ordinary set-up never brings them. Versions are exact.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

export interface Peers {
  /** Installs them unless they are there. */
  install(say: (line: string) => void): void
  // The peers' types are not there before the first use.
  // oxlint-disable-next-line typescript/no-explicit-any
  load(name: string): Promise<any>
  /** The folder they are in. */
  readonly folder: string
}

/** @param name a folder under .beaver/bench */
export function peersIn(name: string, dependencies: Readonly<Record<string, string>>): Peers {
  const folder = join(root, '.beaver/bench', name)
  return {
    folder,
    install(say) {
      const manifest = JSON.stringify({ private: true, type: 'module', dependencies }, null, 2)
      const done = join(folder, 'installed.json')
      if (existsSync(done)) return
      const list = Object.entries(dependencies).map(([each, version]) => `${each} ${version}`)
      say(`bench: installing ${list.join(', ')} in .beaver/bench (once)`)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'package.json'), manifest)
      writeFileSync(join(folder, 'pnpm-workspace.yaml'), 'packages: []\n')
      const pnpm = join(root, '.beaver/tools/pnpm/node_modules/.bin/pnpm')
      execFileSync(pnpm, ['install', '--store-dir', join(root, '.beaver/cache/pnpm-store')], {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      writeFileSync(done, manifest)
    },
    load: (each) => import(pathToFileURL(createRequire(join(folder, 'package.json')).resolve(each)).href),
  }
}
