import { describe, expect, it } from 'vitest'
import { shutdownHooks } from './shutdown-hooks.ts'

function kit(msMax?: number) {
  const told: string[] = []
  const ran: string[] = []
  return { told, ran, hooks: shutdownHooks((message) => told.push(message), msMax) }
}

describe('shutdown hooks', () => {
  it('run in the reverse order of their registration, one after the other, each once', async () => {
    const { hooks, ran } = kit()
    for (const name of ['first', 'second', 'third'])
      hooks.add(async () => {
        ran.push(`${name} begins`)
        await Promise.resolve()
        ran.push(`${name} ends`)
      })
    await hooks.run()
    await hooks.run()
    expect(ran).toEqual(['third', 'second', 'first'].flatMap((name) => [`${name} begins`, `${name} ends`]))
  })

  it('are reported if they fail or hang, and the others run', async () => {
    const { hooks, told, ran } = kit(20)
    hooks.add(() => ran.push('last'))
    hooks.add(() => new Promise(() => {}))
    hooks.add(() => Promise.reject(new Error('the file is gone')))
    hooks.add(() => {
      throw new Error('at once')
    })
    await hooks.run()
    expect(ran).toEqual(['last'])
    expect(told).toEqual(
      ['at once', 'the file is gone', 'it did not finish within 0.02 s'].map(
        (why) => `A shutdown hook failed: ${why}`,
      ),
    )
  })

  it('do not run if they were removed', async () => {
    const { hooks, ran } = kit()
    const take = hooks.add(() => ran.push('gone'))
    hooks.add(() => ran.push('kept'))
    take()
    take()
    await hooks.run()
    expect(ran).toEqual(['kept'])
  })
})
