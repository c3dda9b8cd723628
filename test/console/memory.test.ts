// What agents keep for later runs, as the console shows it.
import { expect, it } from 'vitest'
import { consoleFolder, person } from '../support/browser.ts'
import { say, use } from '../support/fake-provider.ts'
import { protocolScene } from '../support/protocol-scene.ts'

const hostile = 'Likes <img src=x onerror=alert(1)> \u202Egnp.exe'

it('shows what agents keep about the work and about a user, to the ones who may read it', async () => {
  await using scene = await protocolScene({
    answer({ text, results }) {
      const [, target, content] = /^remember (memory|user) (.+)$/s.exec(text) ?? []
      if (content === undefined) return undefined
      return results.length === 0 ? use(['memory', { action: 'add', target, content }]) : say('Kept.')
    },
  })
  const gateway = await scene.start({}, { consoleFolder })
  await using _ = { [Symbol.asyncDispose]: () => gateway.stop() }
  const { url } = gateway.info
  await using boss = await person({ url, token: scene.tokens.admin })
  const list = (at: typeof boss, name: string) => at.page.getByRole('region', { name }).getByRole('listitem')
  await boss.page.goto('/console/')
  await boss.page.getByRole('link', { name: 'Memory' }).click()
  await boss.page.getByText('Agents keep nothing here yet.').waitFor()
  expect(await boss.axe()).toEqual([])

  const keep = async (what: string, user_id?: string): Promise<void> => {
    const { task_id } = await scene.system.client.submit({
      task: `remember ${what}`,
      ...(user_id === undefined ? {} : { user_id }),
    })
    await scene.system.ended(task_id)
  }
  // The page that is open hears of it.
  await keep('memory We ship on Fridays.')
  await list(boss, 'About the work').filter({ hasText: 'We ship on Fridays.' }).waitFor()
  await keep(`user ${hostile}`, 'ann')
  await keep('user Likes tea.', 'bob')
  await boss.page.getByRole('textbox', { name: 'User' }).fill('ann')
  await boss.page.keyboard.press('Enter')
  expect(await list(boss, 'About ann').innerText()).toBe(
    'Likes <img src=x onerror=alert(1)> \\u{202e}gnp.exe',
  )
  expect(boss.page.url()).toContain('user=ann')

  // A token with a user reads of this user alone, whatever the address says.
  await using bob = await person({ url, token: scene.tokens.bob, theme: 'dark', width: 380 })
  await bob.page.goto('/console/memory')
  expect(await list(bob, 'About bob').innerText()).toBe('Likes tea.')
  expect(await bob.page.getByRole('textbox', { name: 'User' }).count()).toBe(0)
  expect(await bob.axe()).toEqual([])
  await bob.page.goto('/console/memory?user=ann')
  await bob.page.getByRole('alert').waitFor()
  expect(await bob.page.getByText('Likes').count()).toBe(0)
  expect([boss.faults, bob.faults]).toEqual([[], []])
})
