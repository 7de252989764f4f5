-- Numbers up to 2^53 as text, without an exponent.
local function text(number) return string.format('%.0f', number) end

-- Begins an epoch if there is none: the data is new, or was lost. What is left of routes stays, at numbers below.
local function ensure(meta, order, deleted, epoch)
  local there = redis.call('HMGET', meta, 'epoch', 'layout')
  if there[1] then
    if there[2] ~= '1' then error('the keys are of another layout, ' .. tostring(there[2]) .. ': use the version of this program that made it') end
    return there[1]
  end
  local last = 0
  for _, key in ipairs({order, deleted}) do
    local top = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
    if top[2] then last = math.max(last, tonumber(top[2])) end
  end
  redis.call('HSET', meta, 'epoch', epoch, 'revision', text(last), 'layout', '1')
  return epoch
end

-- Whether the version that is there, or false, is as expected: '*' anything, '-' nothing, else a version.
local function met(expected, current)
  if expected == '*' then return true end
  if expected == '-' then return not current end
  return current == expected
end

local function version_of(stored) return stored and string.match(stored, '^(%d+):') end
