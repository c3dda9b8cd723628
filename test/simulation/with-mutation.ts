// Preloaded (`node --import`): the sources are read without the mend that SIMULATE_WITHOUT names.
import { registerHooks } from 'node:module'
import { simMutations } from './mutations.ts'

const name = process.env['SIMULATE_WITHOUT']
const mutation = simMutations.find((each) => each.name === name)
if (name !== undefined && mutation === undefined) throw new Error(`There is no mutation ${name}.`)
if (mutation !== undefined) {
  const { file, snippet, replacement } = mutation
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.endsWith(`/${file}`)) return loaded
      const text = Buffer.from(loaded.source as Uint8Array).toString()
      const times = text.split(snippet).length - 1
      if (times !== 1) throw new Error(`The snippet of ${name} stands ${times} times in ${file}.`)
      return { ...loaded, source: text.replace(snippet, () => replacement) }
    },
  })
}
