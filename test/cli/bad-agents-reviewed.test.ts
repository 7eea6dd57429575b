import { badAgents } from '../helpers/bad-agents.ts'

badAgents('reviewed')
