-- wrk script: every write carries `depth` requests at once, 16 or the first argument after "--".
-- wrk counts the requests in one write by itself and so waits for as many responses.

local batch

function init(args)
    local depth = tonumber(args[1]) or 16
    batch = string.rep(wrk.format("GET"), depth)
end

function request()
    return batch
end
