// What every MemoryStore must do, for the in-memory twin and the adapter on JetStream.
import {
  emptyMemory,
  type MemoryChange,
  type MemoryLimits,
  type MemoryOwner,
  type MemoryStore,
} from '@beaver/core'
import { describe, expect, test } from 'vitest'
import { until } from './until.ts'

export interface MemoryStoresUnderTest {
  /** Two writers of the same storage, like two processes. */
  readonly stores: readonly [MemoryStore, MemoryStore]
  /** Stores something that is not a memory. */
  corrupt(tenant: string): Promise<void>
  /** The stored bytes, as text. */
  stored(tenant: string): Promise<string>
}

const limits: MemoryLimits = { memory: 400, user: 40 }
const add = (content: string): MemoryChange => ({ action: 'add', target: 'memory', content })
const remove = (old_text: string): MemoryChange => ({ action: 'remove', target: 'memory', old_text })
let tenants = 0
/** An unused tenant. */
const freshTenant = (): string => `会话 .*> ${++tenants}`

/** @param open opens the stores under test; called once, before the first test */
export function memoryStoreContract(
  name: string,
  open: (limits: MemoryLimits) => Promise<MemoryStoresUnderTest>,
): void {
  describe(`${name} as a memory store`, () => {
    let opened: Promise<MemoryStoresUnderTest> | null = null
    const parts = (): Promise<MemoryStoresUnderTest> => (opened ??= open(limits))

    test('is empty for a tenant without changes', async () => {
      const { stores } = await parts()
      expect(await stores[0].read({ tenant: freshTenant(), user: null })).toEqual(emptyMemory)
    })

    test('shows a change at once, in its target and for its tenant only, and soon to the other writer', async () => {
      const { stores } = await parts()
      const [tenant, other] = [freshTenant(), freshTenant()]
      expect(await stores[0].change({ tenant, user: null }, add('uses vim'))).toEqual({
        ok: true,
        changed: true,
        entries: ['uses vim'],
        chars: 8,
        charsMax: 400,
      })
      expect(
        await stores[0].change(
          { tenant, user: null },
          { action: 'add', target: 'user', content: '名字 \u{1F9AB}' },
        ),
      ).toMatchObject({
        ok: true,
        charsMax: 40,
      })
      expect(
        await stores[0].change(
          { tenant, user: null },
          { action: 'replace', target: 'memory', old_text: 'vim', content: 'uses helix' },
        ),
      ).toMatchObject({
        changed: true,
      })
      const expected = { memory: ['uses helix'], user: ['名字 \u{1F9AB}'] }
      expect(await stores[0].read({ tenant, user: null })).toEqual(expected)
      await until('the other writer sees it', async () =>
        (await stores[1].read({ tenant, user: null })).memory.includes('uses helix'),
      )
      expect(await stores[1].read({ tenant, user: null })).toEqual(expected)
      expect(await stores[0].read({ tenant: other, user: null })).toEqual(emptyMemory)
    })

    test('keeps the list user for each user, and the list memory for all users of the tenant (D-67)', async () => {
      const { stores } = await parts()
      const tenant = freshTenant()
      const [ada, bob, nobody] = ['Ada', 'Bob. *>', null].map((user) => ({ tenant, user })) as [
        MemoryOwner,
        MemoryOwner,
        MemoryOwner,
      ]
      const about = (content: string): MemoryChange => ({ action: 'add', target: 'user', content })
      await stores[0].change(nobody, about('someone'))
      await stores[0].change(ada, about('Ada is deaf'))
      await stores[0].change(bob, about('Bob is blind'))
      await stores[0].change(bob, add('due in May'))
      expect(await stores[0].read(ada)).toEqual({ memory: ['due in May'], user: ['Ada is deaf'] })
      expect(await stores[0].read(bob)).toEqual({ memory: ['due in May'], user: ['Bob is blind'] })
      expect(await stores[0].read(nobody)).toEqual({ memory: ['due in May'], user: ['someone'] })
      expect(
        await stores[0].change(bob, { action: 'remove', target: 'user', old_text: 'Ada' }),
      ).toMatchObject({ ok: false, code: 'no_match' })
      await until('the other writer sees it', async () => (await stores[1].read(bob)).user.length === 1)
      expect(await stores[1].read({ tenant: freshTenant(), user: 'Ada' })).toEqual(emptyMemory)
    })

    test('loses no change of two concurrent writers', async () => {
      const { stores } = await parts()
      const tenant = freshTenant()
      const facts = Array.from({ length: 40 }, (_, i) => `fact ${i}`)
      const answers = await Promise.all(
        facts.map((fact, i) => (stores[i % 2] as MemoryStore).change({ tenant, user: null }, add(fact))),
      )
      expect(answers.filter((answer) => !answer.ok)).toEqual([])
      for (const store of stores) {
        await until(
          'all is seen',
          async () => (await store.read({ tenant, user: null })).memory.length === facts.length,
        )
        expect([...(await store.read({ tenant, user: null })).memory].toSorted()).toEqual(facts.toSorted())
      }
    })

    test('lets only one of two writers find an entry that both remove', async () => {
      const { stores } = await parts()
      const tenant = freshTenant()
      await stores[0].change({ tenant, user: null }, add('once'))
      await until(
        'both see it',
        async () => (await stores[1].read({ tenant, user: null })).memory.length === 1,
      )
      const answers = await Promise.all(
        stores.map((store) => store.change({ tenant, user: null }, remove('once'))),
      )
      expect(answers.map((answer) => (answer.ok ? 'removed' : answer.code)).toSorted()).toEqual([
        'no_match',
        'removed',
      ])
    })

    test('never answers from a state that another writer has changed since', async () => {
      const { stores } = await parts()
      const tenant = freshTenant()
      await stores[0].change({ tenant, user: null }, add('a fact'))
      await until(
        'both see it',
        async () => (await stores[1].read({ tenant, user: null })).memory.length === 1,
      )
      await stores[0].change({ tenant, user: null }, remove('a fact'))
      expect(await stores[1].change({ tenant, user: null }, add('a fact'))).toMatchObject({
        ok: true,
        changed: true,
      })
      await stores[1].change({ tenant, user: null }, add('another'))
      expect(await stores[0].change({ tenant, user: null }, remove('another'))).toMatchObject({
        ok: true,
        changed: true,
      })
    })

    test('does not let two writers exceed the limit together, and stores nothing of a refused change', async () => {
      const { stores } = await parts()
      const tenant = freshTenant()
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) =>
          (stores[i % 2] as MemoryStore).change({ tenant, user: null }, add(`${i}`.padEnd(100, 'x'))),
        ),
      )
      expect(answers.filter((answer) => answer.ok)).toHaveLength(4)
      expect(new Set(answers.map((answer) => (answer.ok ? 'ok' : answer.code)))).toEqual(
        new Set(['ok', 'memory_full']),
      )
      const stored = await parts().then((each) => each.stored(tenant))
      expect(await stores[0].change({ tenant, user: null }, add('one more'))).toMatchObject({
        ok: false,
        code: 'memory_full',
      })
      expect(await parts().then((each) => each.stored(tenant))).toBe(stored)
    })

    test('writes nothing for a change that changes nothing', async () => {
      const { stores, stored } = await parts()
      const tenant = freshTenant()
      await stores[0].change({ tenant, user: null }, add('a fact'))
      const before = await stored(tenant)
      expect(await stores[0].change({ tenant, user: null }, add('a fact'))).toMatchObject({
        ok: true,
        changed: false,
      })
      expect(await stored(tenant)).toBe(before)
    })

    test('reports a memory that cannot be read, for reads and changes, and never overwrites it', async () => {
      const { stores, corrupt, stored } = await parts()
      const tenant = freshTenant()
      await stores[0].change({ tenant, user: null }, add('a fact'))
      await corrupt(tenant)
      const before = await stored(tenant)
      for (const store of stores) {
        expect(await store.change({ tenant, user: null }, add('another'))).toMatchObject({
          ok: false,
          code: 'memory_corrupt',
        })
        await until('it is seen', () =>
          store.read({ tenant, user: null }).then(
            () => false,
            () => true,
          ),
        )
        await expect(store.read({ tenant, user: null })).rejects.toMatchObject({ code: 'memory_corrupt' })
        expect(await store.change({ tenant, user: null }, remove('a'))).toMatchObject({
          ok: false,
          code: 'memory_corrupt',
        })
      }
      expect(await stored(tenant)).toBe(before)
      expect(await stores[0].change({ tenant: freshTenant(), user: null }, add('elsewhere'))).toMatchObject({
        ok: true,
      })
    })
  })
}
