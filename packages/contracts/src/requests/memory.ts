// `memory`: what agents keep for later runs, as a run that began now would see it.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, onBehalfOf } from '../fields.ts'

const list = z.object({
  entries: z.array(z.string()).describe('The entries, oldest first.'),
  chars: count.describe('The length of all entries together, in UTF-16 units.'),
  chars_max: count.describe('The limit of that length.'),
})

const answer = z.object({
  memory: list.describe('What agents keep about the work. It belongs to the tenant.'),
  user: list.describe('What agents keep about the user. Without a user it belongs to the tenant.'),
})
/** What agents keep for later runs. */
export type MemoryReport = z.infer<typeof answer>

export const memory = contract(
  'Reads what agents keep for later runs: the list of the tenant, and the list of one user.',
  {
    input: z.strictObject({ user_id: onBehalfOf }),
    output: answer,
  },
)
