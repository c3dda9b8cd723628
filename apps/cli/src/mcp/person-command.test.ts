import { expect, it } from 'vitest'
import { personCommand } from './person-command.ts'

it('a command for a person names the home, unless it is found without', () => {
  const command = (home: string, named: boolean, nats_url?: string): string =>
    personCommand({ home, nats_url }, named, '/srv/team')('approve t')
  expect(command('/srv/team/.beaver', false)).toBe('beaver approve t')
  expect(command('/srv/team/.beaver', true)).toBe('beaver approve t --home /srv/team/.beaver')
  expect(command('/data/a home', false)).toBe("beaver approve t --home '/data/a home'")
  expect(command('/data/home', false, 'nats://db:4222')).toBe('beaver approve t')
  expect(command('/data/home', true, 'nats://db:4222')).toBe('beaver approve t --home /data/home')
})
