-- See postrider.forget_requests.
select postrider.forget_requests(10000) as answer;
